// Every signature that names a method, a status or a header field uses swift-http-types. Re-exported, so
// that a caller who writes `.post` needs no second import (MemberImportVisibility would ask for one).
@_exported public import HTTPTypes
