// `JPEGOptions` takes a `ByteCount`. Re-exported, so that a program that uses this product alone can write
// `.kibibytes(100)` (MemberImportVisibility would ask for an import of a module that is no product).
@_exported public import WaybillCore
