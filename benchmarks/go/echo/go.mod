module echo

go 1.21
