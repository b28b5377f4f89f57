import assert from 'node:assert/strict'
import { notifications, notificationsStore } from '@mantine/notifications'
import { afterEach, describe, it } from 'vitest'
import { showErrorToast, showToast } from '../../console/components/toast.ts'

afterEach(() => notifications.clean())

describe('a toast', () => {
  it('is kept until it can be shown, also when the page has no place for toasts yet', () => {
    showToast('Token deleted')
    showErrorToast(new Error('Nuncio does not answer.'))

    const kept = notificationsStore.getState().notifications
    assert.deepEqual(
      kept.map(({ message, color }) => [message, color]),
      [
        ['Token deleted', 'green'],
        ['Nuncio does not answer.', 'red'],
      ],
    )
  })
})
