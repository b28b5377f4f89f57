import { describe, it } from 'vitest'
import { onlyAdaptersAreBelieved, receiptsAreVerified } from './bridge-attacks.ts'
import { newBridgeWorld } from './bridge-world.ts'
import { channelKeepsItsPromises } from './channel.ts'

const newWorld = () => newBridgeWorld()

describe('the bridge to an adapter', () => {
  channelKeepsItsPromises({ it }, newWorld)
})

describe('the bridge under attack', () => {
  onlyAdaptersAreBelieved({ it }, newWorld)
  receiptsAreVerified({ it }, newWorld)
})
