import Waybill

private func perRequest(_ options: inout UploadOptions) {
    // snippet: interval for request
    // request.timeoutIntervalForRequest = 30
    options.transfer.limits.connect = .seconds(15)
    options.transfer.limits.stall = .seconds(30)
    options.transfer.limits.response = .seconds(30)
    // end
}

private func perResource(_ options: inout UploadOptions) {
    // snippet: interval for resource
    // configuration.timeoutIntervalForResource = 300
    options.transfer.limits.total = .seconds(300)
    options.retry.deadline = .seconds(300)
    // end
}
