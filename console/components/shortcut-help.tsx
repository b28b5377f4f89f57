import { Anchor, Group, Kbd, Modal, Switch, Table, Text } from '@mantine/core'
import { CONSOLE_PATH } from '../app/service-path.ts'
import { useShortcutSetting } from './stored-setting.ts'

const KEYS: readonly (readonly [readonly string[], string])[] = [
  [['?'], 'Show these keys'],
  [['Ctrl', 'K'], 'Search, or go to a page'],
  [['g', 'o'], 'Overview'],
  [['g', 's'], 'Sandbox inbox'],
  [['g', 'c'], 'Connections'],
  [['g', 't'], 'API tokens'],
  [['g', 'l'], 'API logs'],
  [['/'], 'Search'],
  [['f'], 'Filters of this page'],
  [['j'], 'Next row'],
  [['k'], 'Row before'],
  [['Enter'], 'Open the row'],
  [['c'], 'Copy the id of what the page shows'],
  [['.'], 'Pause or start live updates'],
  [['Esc'], 'Close what is open'],
]

export function ShortcutHelp({ onClose }: { readonly onClose: () => void }) {
  const [isOn, setOn] = useShortcutSetting()
  return (
    <Modal opened onClose={onClose} title="Keyboard shortcuts" centered closeButtonProps={{ 'aria-label': 'Close' }}>
      <Table>
        <Table.Tbody>
          {KEYS.map(([keys, does]) => (
            <Table.Tr key={does}>
              <Table.Th scope="row" w={120} fw={400}>
                <Group gap={4}>
                  {keys.map((key) => (
                    <Kbd key={key}>{key}</Kbd>
                  ))}
                </Group>
              </Table.Th>
              <Table.Td>{does}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Switch
        mt="md"
        label="Single keys as shortcuts"
        description="Off for voice control and other tools that type single keys. Kept in this browser."
        checked={isOn}
        onChange={(event) => setOn(event.currentTarget.checked)}
      />
      <Text size="xs" c="dimmed" mt="sm">
        Also in{' '}
        <Anchor href={`${CONSOLE_PATH}/me`} inherit underline="always">
          your profile
        </Anchor>
        .
      </Text>
    </Modal>
  )
}
