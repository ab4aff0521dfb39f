import Waybill

@testable import WaybillOutbox

extension MemoryStore.State {
    mutating func lease(_ request: LeaseRequest, _ now: Int64) -> LeaseResult {
        for id in order where entries[id]?.life.state == .waiting { _ = handle(.due, id, now) }
        var result = LeaseResult()
        for id in candidates(request, now) {
            let (effects, _) = handle(.lease, id, now)
            guard let effect = effects.first, let entry = entries[id] else { continue }
            if case .finished = effect {
                result.ended += 1
                continue
            }
            entries[id]?.token = request.token
            result.items.append(
                LeasedItem(
                    id: id, kind: entry.new.kind, lane: entry.new.lane, spec: entry.spec, life: entry.life,
                    effect: effect, idempotencyKey: entry.new.idempotencyKey, resume: entry.resume,
                    size: entry.new.size, batch: entry.new.batch,
                    sinceFirstAttempt: entry.life.sinceFirstAttempt(at: now)))
        }
        for item in result.items { lanes[item.lane]?.handle(.started(1), at: now) }
        let waits = entries.values.compactMap { entry -> Int64? in
            switch entry.life.state {
            case .waiting where entry.life.notBefore == nil: entry.life.runAt
            case .verify where !entry.life.isVerifying && entry.life.runAt > now: entry.life.runAt
            default: nil
            }
        }
        let busy = Set(
            entries.values.filter {
                $0.life.state == .ready && $0.after == nil || $0.life.state == .verify && !$0.life.isVerifying
            }.map(\.new.lane))
        let empty = lanes.filter { $0.value.isOpen(now) && $0.value.availableStarts(now) < 1 && busy.contains($0.key) }
        let starts = empty.values.filter { $0.blocked == nil }.compactMap(\.nextStart)
        let suspended = lanes.filter { $0.value.suspendedUntil > now && busy.contains($0.key) }.values
        result.nextDue = (waits + starts + suspended.filter { $0.blocked == nil }.map(\.suspendedUntil)).min().map {
            $0 - now
        }
        let delays = entries.values.filter { $0.life.state == .waiting }.compactMap(\.life.notBefore)
        let probes =
            suspended.filter { $0.blocked != nil }.map(\.suspendedUntil)
            + empty.values.filter { $0.blocked != nil }.compactMap(\.nextStart)
        result.nextProbe = (delays + probes).min().map { $0 - now }
        return result
    }

    private func candidates(_ request: LeaseRequest, _ now: Int64) -> [Int64] {
        var found: [Candidate] = []
        for (name, lane) in lanes {
            let running = entries.values.count { $0.token != nil && $0.new.lane == name }
            let available = min(
                lane.availableSlots(now, of: request.slotsPerLane) - (request.running[name] ?? 0),
                lane.availableSlots(running: running), lane.availableStarts(now))
            let all = entries.filter { $0.value.new.lane == name }.compactMap {
                Candidate($0.key, $0.value, lane, request.host, now)
            }
            found += all.sorted { $0.hasFailed == $1.hasFailed ? $0.order < $1.order : $1.hasFailed }.prefix(
                max(0, available))
        }
        return found.sorted { $0.order < $1.order }.prefix(max(0, request.slots)).map(\.order.id)
    }

    /// An item that may be leased.
    private struct Candidate {
        let order: (rank: Int64, runAt: Int64, id: Int64)
        /// Whether other items of a blocked lane are tried first.
        let hasFailed: Bool

        init?(_ id: Int64, _ entry: MemoryStore.Entry, _ lane: LaneLife, _ host: String?, _ now: Int64) {
            let isPast = entry.life.state == .ready && entry.life.deadline.map { now > $0 } ?? false
            guard entry.new.host == nil || entry.new.host == host || isPast else { return nil }
            switch entry.life.state {
            case .verify where !entry.life.isVerifying && ItemLife.isDue(entry.life.runAt, now):
                (order, hasFailed) = ((.min, entry.life.runAt, id), false)
            case .ready where entry.after == nil:
                order = (entry.new.rank(entry.createdAt), 0, id)
                hasFailed = lane.blocked != nil && entry.life.reason != nil
            default: return nil
            }
        }
    }
}
