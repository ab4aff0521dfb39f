// Bodies, secrets and byte counts are part of every signature here. Re-exported, so that whoever takes this product
// alone needs one import.
@_exported public import WaybillCore
