import { describe, it } from 'vitest'
import { messageStorageKeepsItsPromises } from './message-storage.ts'
import { newSqliteWorld } from './sqlite-world.ts'

describe('message storage on SQLite', () => {
  messageStorageKeepsItsPromises({ it }, newSqliteWorld)
})
