import { DatabaseSync } from 'node:sqlite'

// The negative control of the power cut: the same writes with three settings of SQLite, of which only FULL is safe. About 300
// rows a second: much faster writers checkpoint so often that even NORMAL seems safe.
const PAUSE_MS = 3

const [file = '', synchronous = ''] = process.argv.slice(2)
const database = new DatabaseSync(file)
database.exec(
  `pragma journal_mode = wal; pragma synchronous = ${synchronous}; create table if not exists row (id integer primary key, body text)`,
)
const insert = database.prepare('insert into row (id, body) values (?, ?)')
let id = 0

setInterval(() => {
  id += 1
  insert.run(id, 'x'.repeat(200))
  process.stdout.write(`${id}\n`)
}, PAUSE_MS)
