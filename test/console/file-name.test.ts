import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { withAddress } from '../../console/components/file-name.ts'

const EMPTY = { url: '', name: '' }

describe('the name of a file in a form', () => {
  it.each([
    ['https://files.example.com/photos/oven.png?size=2#top', 'oven.png'],
    ['https://files.example.com/two%20loaves.pdf', 'two loaves.pdf'],
    ['https://files.example.com/oven', ''],
    ['https://files.example.com/', ''],
    ['https://files.example.com/a%2Fb.png', ''],
    ['https://files.example.com/50%.png', ''],
    ['files.example.com/oven.png', ''],
  ])('of %s is %j', (address, name) => {
    assert.equal(withAddress(EMPTY, address).name, name)
  })

  it('follows the typed URL until a person has written another name', () => {
    const first = withAddress(EMPTY, 'https://files.example.com/a.png')
    const second = withAddress(first, 'https://files.example.com/b.png')
    const own = withAddress({ ...second, name: 'oven.png' }, 'https://files.example.com/c.png')

    assert.deepEqual([first.name, second.name, own.name], ['a.png', 'b.png', 'oven.png'])
  })
})
