import { describe, it } from 'vitest'
import { newBridgeWorld } from './bridge-world.ts'
import { channelKeepsItsPromises } from './channel.ts'

describe('the bridge to an adapter', () => {
  channelKeepsItsPromises({ it }, () => newBridgeWorld())
})
