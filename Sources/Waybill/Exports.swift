// One import is enough for a user: the nouns, the form and the image options come with the session.
@_exported public import WaybillCore
@_exported public import WaybillJPEG
@_exported public import WaybillMultipart
