// Bodies, secrets and byte counts are part of every signature here. Re-exported, so that whoever takes this product
// alone needs one import. One by one and not as a module: WaybillCore brings HTTPTypes along, whose HTTPRequest would
// meet that of the server in whose program the parser works.
@_exported public import enum WaybillCore.BodyRead
@_exported public import protocol WaybillCore.BodyReader
@_exported public import protocol WaybillCore.PartPreparing
@_exported public import protocol WaybillCore.UploadBody
@_exported public import struct WaybillCore.BodyPart
@_exported public import struct WaybillCore.ByteCount
@_exported public import struct WaybillCore.PreparedPart
@_exported public import struct WaybillCore.Secret
@_exported public import struct WaybillCore.AsyncValues
