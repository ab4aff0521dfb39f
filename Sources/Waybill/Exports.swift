// Waybill needs only one import. HTTPTypes is exported, because every signature with a method, a status or a header
// field uses it. The other modules do not re-export it, because a server framework's own HTTPRequest would become
// ambiguous in code that only reads forms.
@_exported public import HTTPTypes
@_exported public import WaybillCore
@_exported public import WaybillJPEG
@_exported public import WaybillMultipart
