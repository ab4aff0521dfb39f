$ swift run kiosk
200 OK {"DATA":{"FIELDS":[{"name":"BUSINESSNO","value":"20260117-0042"}],"FILES":[{"bytes":102135,"fileName":"IDFrontImage.jpg","height":954,"name":"FILE","sha256":"…","type":"image/jpeg","width":1272}]},"RETCODE":"000000","RETMSG":"stored"}
