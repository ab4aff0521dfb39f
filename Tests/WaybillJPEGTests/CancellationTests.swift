import TestSupport
import Glibc
import Testing
import WaybillCore

@testable import WaybillJPEG

@Suite(.timeLimit(.minutes(5 * Slowness.factor))) struct CancellationTests {
    @Test func `a cancelled task never starts the work`() async {
        let task = Task { () throws(JPEGError) in
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await JPEGRecompressor(.quality(50)).recompress(Scene.photoFile)
        }
        let error = await #expect(throws: JPEGError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(error?.isCancelled == true)
    }

    @Test func `cancelling at any time results in cancelled or a complete image`() async {
        await withTaskGroup(of: Void.self) { group in
            for yields in stride(from: 0, to: 24, by: 4) {
                group.addTask {
                    let task = Task { () async throws(JPEGError) -> JPEGResult in
                        try await JPEGRecompressor(.maxBytes(.bytes(5_000), mode: .fast)).recompress(Scene.photoFile)
                    }
                    for _ in 0..<yields * yields { await Task.yield() }
                    task.cancel()
                    do {
                        let result = try await task.value
                        #expect(result.bytes.count <= 5_000)
                    } catch {
                        #expect((error as? JPEGError)?.code == .cancelled)
                    }
                }
            }
        }
    }

    @Test func `a set flag stops every stage`() throws {
        let flag = CancellationFlag()
        let seen = try DecodedPixels(Scene.photoFile)
        let image = try CoefficientImage(seen.picture, width: 120, height: 90, isLinear: false, flag: flag)
        let quantiser = Quantiser(usesTrellis: true)
        let levels = try QuantisedImage(image, factor: 1, quantiser: quantiser, flag: flag)
        flag.set()
        let stages: [() throws -> Void] = [
            { _ = try recompress(Scene.photoFile, .quality(50), flag: flag) },
            { _ = try CoefficientImage(seen.picture, width: 120, height: 90, isLinear: false, flag: flag) },
            { _ = try QuantisedImage(image, factor: 1, quantiser: quantiser, flag: flag) },
            { _ = try JPEGWriter.write(levels, image, script: .split, flag: flag) },
            {
                var defects = ToleratedDefects()
                _ = try JPEGWriter.transcode(
                    Scene.photoFile, orientation: 1, script: .split, flag: flag, defects: &defects)
            },
        ]
        for stage in stages {
            let error = #expect(throws: JPEGError.self) { try stage() }
            #expect(error?.code == .cancelled)
        }
    }

    @Test func `a flag set between rows stops the decoder`() throws {
        let flag = CancellationFlag()
        let error = #expect(throws: JPEGError.self) {
            try unsafe Scene.photoFile.withUnsafeBufferPointer { bytes throws(JPEGError) in
                let decoder = try unsafe Decoder(bytes, eighths: 8, flag: flag)
                #expect(try decoder.read())
                flag.set()
                _ = try decoder.read()
            }
        }
        #expect(error?.code == .cancelled)
    }

    @Test func `work waiting for a thread is cancelled immediately`() async throws {
        let pool = WorkerPool(width: 1)
        let isBusy = CancellationFlag()
        let gate = CancellationFlag()
        async let busy = pool.run { _ throws(JPEGError) in
            isBusy.set()
            while !gate.isSet { sched_yield() }
            return 1
        }
        while !isBusy.isSet { await Task.yield() }
        let waiting = Task { () throws(JPEGError) in try await pool.run { _ throws(JPEGError) in 2 } }
        waiting.cancel()
        let error = await #expect(throws: JPEGError.self) { try await waiting.value }
        #expect(error?.code == .cancelled)
        gate.set()
        let answer = try await busy
        #expect(answer == 1)
    }

    @Test func `more jobs than threads all complete`() async throws {
        let pool = WorkerPool(width: 2)
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<200 { group.addTask { try await pool.run { _ throws(JPEGError) in number } } }
            return try await group.reduce(0, +)
        }
        #expect(sum == 19_900)
    }
}
