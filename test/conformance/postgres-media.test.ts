import { describe, it } from 'vitest'
import { mediaOfSeveralWorkersKeepsItsPromises } from './media-of-several-workers.ts'
import { newPostgresWorld } from './postgres-world.ts'

describe('media of several workers on PostgreSQL', () => {
  mediaOfSeveralWorkersKeepsItsPromises({ it }, newPostgresWorld)
})
