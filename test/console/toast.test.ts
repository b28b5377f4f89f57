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
  it('is kept until it can be shown, even if the page has no place for toasts yet', async () => {
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

  it('causes no new check of the service, because it may itself report that the service is away', async () => {
    showToast('Token deleted')
    await vi.waitFor(() => assert.equal(notificationsStore.getState().notifications.length, 1))
    vi.stubGlobal('fetch', () => Promise.reject(new Error('away')))

    showErrorToast(new Error('Nuncio does not answer.'))

    await vi.waitFor(() => assert.equal(notificationsStore.getState().notifications.length, 2))
  })
})
