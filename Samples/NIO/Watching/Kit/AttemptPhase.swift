import Waybill

/// A phase of an attempt. The raw value is the last component of the label of its timer.
enum AttemptPhase: String, CaseIterable {
    case dns
    case connect
    case tls
    case total
}

extension TransferMetrics {
    /// The phases that took place, with their durations. `TransferMetrics` counts from the start of the attempt; name
    /// resolution, TCP and TLS are consecutive, so each duration is a difference.
    var phases: [(phase: AttemptPhase, time: Duration)] {
        var phases: [(AttemptPhase, Duration)] = []
        if connection?.isReused != true {
            phases.append((.dns, nameLookup))
            phases.append((.connect, connect - nameLookup))
            phases.append((.tls, tls - connect))
        }
        phases.append((.total, total))
        // A phase that was not reached is zero, and its difference zero or negative.
        return phases.filter { $0.1 > .zero }
    }
}
