// A user of Waybill writes one import. HTTPTypes is part of it, because every signature that names a method, a status or
// a header field uses it. The rooms by themselves do not re-export it: a server framework's own HTTPRequest would become
// ambiguous for somebody who only wants to read a form.
@_exported public import HTTPTypes
@_exported public import WaybillCore
@_exported public import WaybillJPEG
@_exported public import WaybillMultipart
