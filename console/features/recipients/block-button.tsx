import { Button } from '@mantine/core'
import { Ban } from 'lucide-react'
import { useState } from 'react'
import { useAccount } from '../../components/account.tsx'
import { BlockDialog } from './block-dialog.tsx'

/** Blocks the recipient of a message. Empty when the number is unknown or masked. */
export function BlockButton({ number }: { readonly number: string | null }) {
  const { can } = useAccount()
  const [isOpen, setOpen] = useState(false)
  if (number === null || !/^\d+$/.test(number) || !can('developer')) return null
  return (
    <>
      <Button variant="subtle" color="gray" leftSection={<Ban size={16} aria-hidden />} onClick={() => setOpen(true)}>
        Block this recipient
      </Button>
      <BlockDialog number={number} isOpen={isOpen} onClose={() => setOpen(false)} />
    </>
  )
}
