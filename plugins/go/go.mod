module hookgate.internal/plugin

go 1.21
