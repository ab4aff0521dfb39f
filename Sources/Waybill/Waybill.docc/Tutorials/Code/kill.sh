swift build
.build/debug/Kiosk http://127.0.0.1:8080/upload front.jpg &
sleep 2
kill -9 $!

.build/debug/Kiosk
# item 1 delivered: {"DATA":{"FIELDS":[{"name":"BUSINESSNO",…
