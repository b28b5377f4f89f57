import { describe, expect, it } from 'vitest'
import { parseAddressRange } from '../core/media-address/ip-address.ts'
import { createAddressGuard, isSameAddress } from './address-guard.ts'

const ranges = (...texts: readonly string[]) => texts.map((text) => parseAddressRange(text)!)
const opened = (...texts: readonly string[]) => ({ allowed: ranges(...texts), refused: [] })

describe('the address guard', () => {
  it('G9: admits public addresses and ranges that the operator opened, and nothing else', () => {
    const guard = createAddressGuard(opened('10.1.0.0/16', 'fd00::/8'), () => [])

    for (const address of ['8.8.8.8', '2606:4700::1', '10.1.2.3', 'fd00::1'])
      expect(guard.admits(address, false), address).toBe(true)
    for (const address of ['10.2.0.1', '127.0.0.1', '::1', '::ffff:10.1.2.3', 'fe80::1', 'fe80::1%eth0', '', 'name']) {
      expect(guard.admits(address, false), address).toBe(false)
    }
  })

  it('G9: admits only ranges that the operator opened, for a name or port that is valid only for those', () => {
    const guard = createAddressGuard(opened('10.1.0.0/16'), () => [])

    expect(guard.admits('10.1.2.3', true)).toBe(true)
    expect(guard.admits('8.8.8.8', true)).toBe(false)
  })

  it('G9: refuses ranges that the operator closed, public or opened', () => {
    const closed = { allowed: ranges('10.0.0.0/8'), refused: ranges('8.8.0.0/16', '2606:4700::/32', '10.1.0.0/16') }
    const guard = createAddressGuard(closed, () => [])

    for (const address of ['8.8.8.8', '2606:4700::1', '10.1.2.3']) {
      expect([guard.admits(address, false), guard.admits(address, true)], address).toEqual([false, false])
      expect(guard.allows(address), address).toBe(false)
    }
    expect([guard.admits('8.9.8.8', false), guard.admits('10.2.0.1', true)]).toEqual([true, true])
  })

  it('G9: refuses the addresses of this machine, public ones too', () => {
    const own = () => ['5.6.7.8', '2606:4700:0:0:0:0:0:9']

    const guard = createAddressGuard(opened(), own)

    expect(guard.admits('5.6.7.8', false)).toBe(false)
    expect(guard.admits('2606:4700::9', false)).toBe(false)
    expect(guard.admits('5.6.7.9', false)).toBe(true)
    expect(createAddressGuard(opened('5.6.7.8'), own).admits('5.6.7.8', false)).toBe(true)
  })
})

describe('isSameAddress', () => {
  it('compares addresses, not spellings', () => {
    expect(isSameAddress('2606:4700::9', '2606:4700:0:0::9')).toBe(true)
    expect(isSameAddress('1.2.3.4', '1.2.3.5')).toBe(false)
    expect(isSameAddress('0.0.0.1', '::1')).toBe(false)
    expect(isSameAddress('', '')).toBe(false)
  })
})
