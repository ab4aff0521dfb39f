import Waybill

/// What the time of an attempt is spent on; the raw value is the end of a timer's label.
enum AttemptPhase: String, CaseIterable {
    case dns
    case connect
    case tls
    case total
}

extension TransferMetrics {
    /// The phases that took place, with the length of each. The figures of an attempt all count from its start; name,
    /// connection and TLS follow each other, so each is told apart from what came before it.
    var phases: [(phase: AttemptPhase, time: Duration)] {
        var phases: [(AttemptPhase, Duration)] = []
        if connection?.isReused != true {
            phases.append((.dns, nameLookup))
            phases.append((.connect, connect - nameLookup))
            phases.append((.tls, tls - connect))
        }
        phases.append((.total, total))
        // What was never reached is zero, and less than zero after its predecessor was taken off.
        return phases.filter { $0.1 > .zero }
    }
}
