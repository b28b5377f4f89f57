# Ends what works in a folder and removes the folder, as soon as standard input ends.
# Its owner holds the other end of that pipe, so this also happens when the owner is killed with SIGKILL.
folder=$1
read -r _

# The number may have gone to a stranger since. What works in the folder has it in its command line; /proc is Linux's.
is_ours() {
  { tr '\0' ' ' <"/proc/$1/cmdline" || ps -o args= -p "$1"; } 2>/dev/null | grep -qF -- "$folder"
}

# Who is ending has no command line any more, but still holds what it had open, for milliseconds.
is_running() {
  state=$({ sed 's/.*) //' "/proc/$1/stat" || ps -o stat= -p "$1"; } 2>/dev/null)
  case $state in '' | [ZX]*) return 1 ;; esac
}

for file in "$folder"/*.pid; do
  pid=$(head -n 1 "$file" 2>/dev/null)
  [ -n "$pid" ] && is_ours "$pid" || continue
  # To PostgreSQL it means: end at once, and end your processes.
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
