module hook

go 1.21
