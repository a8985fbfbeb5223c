# exits.sh N COMMAND...: succeeds if the command ends with status N.
want=$1
shift
"$@"
got=$?
[ $got -eq "$want" ] || { echo "exit status $got, expected $want" >&2; exit 1; }
