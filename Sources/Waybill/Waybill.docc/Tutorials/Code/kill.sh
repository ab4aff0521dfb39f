$ rm -r outbox
$ swift build --product kiosk
…
$ .build/debug/kiosk front.jpg &
item 1 is on the disk
$ sleep 8
$ kill -9 $!
