#!/bin/sh
# A tool in another language. Its argument `case` says how it behaves.
case "$1" in
--describe)
    echo '{"name": "greet", "description": "Greets.", "parameters": {"type": "object", "properties": {"case": {"type": "string"}}}}'
    ;;
--call)
    given=$(cat)
    case "$given" in
    *text*) echo '{"data": "hello"}' ;;
    *object*) echo '{"data": {"a": [1, "é"]}}' ;;
    *list*) echo '{"data": [1]}' ;;
    *nothing*) echo '{"data": null}' ;;
    *error*) echo '{"error": "no such name"}' ;;
    *exit*) echo 'last words' >&2; exit 3 ;;
    *prose*) echo 'hello there' ;;
    *array*) echo '[1]' ;;
    *neither*) echo '{}' ;;
    *huge*) head -c 2000000 /dev/zero | tr '\0' 'x' ;;
    *hang*) sleep 60 & sleep 60 ;;
    *write*) echo x > "$(dirname "$0")/written" || exit 4; echo '{"data": "written"}' ;;
    *where*) echo "{\"data\": \"$(pwd) $HOME\"}" ;;
    *) echo "{\"data\": $given}" ;;
    esac
    ;;
esac
