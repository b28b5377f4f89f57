import assert from 'node:assert/strict'
import { notifications, notificationsStore } from '@mantine/notifications'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import { showErrorToast, showToast, toastList } from '../../console/components/toast.ts'

beforeEach(() => {
  vi.stubGlobal('location', { href: 'http://127.0.0.1/console/' })
  vi.stubGlobal('fetch', async () => ({ ok: true }))
})

afterEach(() => {
  notifications.clean()
  vi.unstubAllGlobals()
})

describe('a toast', () => {
  it('is kept until it can be shown, also when the page has no place for toasts yet', async () => {
    showToast('Token deleted')
    showErrorToast(new Error('Nuncio does not answer.'))

    assert.equal(toastList.isNeeded(), true)
    await vi.waitFor(() => assert.equal(notificationsStore.getState().notifications.length, 2))
    const kept = notificationsStore.getState().notifications
    assert.deepEqual(
      kept.map(({ message, color }) => [message, color]),
      [
        ['Token deleted', 'green'],
        ['Nuncio does not answer.', 'red'],
      ],
    )
  })

  it('does not ask again whether the service answers, because it may say that it does not', async () => {
    showToast('Token deleted')
    await vi.waitFor(() => assert.equal(notificationsStore.getState().notifications.length, 1))
    vi.stubGlobal('fetch', () => Promise.reject(new Error('away')))

    showErrorToast(new Error('Nuncio does not answer.'))

    await vi.waitFor(() => assert.equal(notificationsStore.getState().notifications.length, 2))
  })
})
