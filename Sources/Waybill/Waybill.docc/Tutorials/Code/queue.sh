$ swift run kiosk
item 1 is on the disk
item 1 delivered
