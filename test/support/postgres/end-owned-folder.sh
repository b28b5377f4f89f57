# Ends the processes that work in a folder and removes the folder, as soon as standard input ends. The owner of the folder holds
# the other end of that pipe, so this also happens when SIGKILL ends the owner.
folder=$1
read -r _

# The number may belong to another program by now. Only a process whose command line names the folder is ours. /proc is Linux's.
is_ours() {
  { tr '\0' ' ' <"/proc/$1/cmdline" || ps -o args= -p "$1"; } 2>/dev/null | grep -qF -- "$folder"
}

# A process that is ending has no command line any more, but holds its open files for some milliseconds.
is_running() {
  state=$({ sed 's/.*) //' "/proc/$1/stat" || ps -o stat= -p "$1"; } 2>/dev/null)
  case $state in '' | [ZX]*) return 1 ;; esac
}

for file in "$folder"/*.pid; do
  pid=$(head -n 1 "$file" 2>/dev/null)
  [ -n "$pid" ] && is_ours "$pid" || continue
  # PostgreSQL then exits at once and ends its child processes.
  kill -QUIT "$pid"
  tries=0
  while is_running "$pid"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 500 ]; then
      is_ours "$pid" || break
      kill -KILL "$pid"
    fi
    sleep 0.02
  done
done
rm -rf -- "$folder"
