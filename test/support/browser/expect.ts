import { expect as expectSoon } from '@playwright/test'

/** Waits for as long as a page may take on a busy machine. */
export const expect = expectSoon.configure({ timeout: 60_000 })
