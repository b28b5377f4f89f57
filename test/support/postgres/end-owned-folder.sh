# Ends what works in a folder and removes the folder, as soon as standard input ends.
# Its owner holds the other end of that pipe, so this also happens when the owner is killed with SIGKILL.
folder=$1
read -r _

# The number may have gone to a stranger since. What works in the folder has it in its command line; /proc is Linux's.
is_ours() {
  { tr '\0' ' ' <"/proc/$1/cmdline" || ps -o args= -p "$1"; } 2>/dev/null | grep -qF -- "$folder"
}

for file in "$folder"/*.pid; do
  pid=$(head -n 1 "$file" 2>/dev/null)
  [ -n "$pid" ] && is_ours "$pid" || continue
  # To PostgreSQL it means: end at once, and end your processes.
  kill -QUIT "$pid"
  tries=0
  while is_ours "$pid"; do
    tries=$((tries + 1))
    [ "$tries" -eq 500 ] && kill -KILL "$pid"
    sleep 0.02
  done
done
rm -rf -- "$folder"
