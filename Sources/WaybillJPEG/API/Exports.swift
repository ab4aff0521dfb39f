// `JPEGOptions` takes a `ByteCount`. It is re-exported, so that a program that uses only this product needs one import.
@_exported public import struct WaybillCore.ByteCount
