$ .build/debug/kiosk
item 1 delivered: {"DATA":…,"RETCODE":"000000","RETMSG":"stored"}
$ .build/debug/kiosk
