// Bodies, secrets and byte counts are part of every signature here. They are re-exported so that a client that uses
// only this product needs one import. They are exported individually instead of as a module: WaybillCore exports
// HTTPTypes, whose HTTPRequest would clash with that of the server that embeds the parser.
@_exported public import enum WaybillCore.BodyRead
@_exported public import protocol WaybillCore.BodyReader
@_exported public import protocol WaybillCore.PartPreparing
@_exported public import protocol WaybillCore.UploadBody
@_exported public import struct WaybillCore.BodyPart
@_exported public import struct WaybillCore.ByteCount
@_exported public import struct WaybillCore.PreparedPart
@_exported public import struct WaybillCore.Secret
@_exported public import struct WaybillCore.AsyncValues
