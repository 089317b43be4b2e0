module hookgate

go 1.21
