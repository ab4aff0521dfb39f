// A program that uploads needs one import. HTTPTypes is re-exported because every signature with a method, a status or a
// header field uses it. The other modules do not re-export it: the HTTPRequest of a server framework would become ambiguous
// in a program that only parses forms.
@_exported public import HTTPTypes
// The declarations of WaybillCore that a program needs. The types that only a transport uses (`UploadTransport`,
// `TransferRequest`, `TransferEvent` and so on) are not among them: the author of a transport imports WaybillCore.
@_exported public import enum WaybillCore.BodyRead
@_exported public import enum WaybillCore.ProgressAccuracy
@_exported public import enum WaybillCore.UploadOutcome
@_exported public import protocol WaybillCore.BodyReader
@_exported public import protocol WaybillCore.PartPreparing
@_exported public import protocol WaybillCore.UploadBody
@_exported public import struct WaybillCore.AsyncValues
@_exported public import struct WaybillCore.BodyPart
@_exported public import struct WaybillCore.ByteCount
@_exported public import struct WaybillCore.ClientCertificate
@_exported public import struct WaybillCore.CurlOption
@_exported public import struct WaybillCore.DigestCredential
@_exported public import struct WaybillCore.PreparedPart
@_exported public import struct WaybillCore.ProxyCredential
@_exported public import struct WaybillCore.Secret
@_exported public import struct WaybillCore.TransferError
@_exported public import struct WaybillCore.TransferLimits
@_exported public import struct WaybillCore.TransferMetrics
@_exported public import struct WaybillCore.TransferOptions
@_exported public import struct WaybillCore.UploadID
@_exported public import WaybillJPEG
@_exported public import WaybillMultipart
