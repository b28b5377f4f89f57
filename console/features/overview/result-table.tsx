import { Table, VisuallyHidden } from '@mantine/core'
import type { OverviewReply } from '../../../src/contract/console/overview.ts'
import { useAccount } from '../../components/account.tsx'
import { TextLink } from '../../components/links.tsx'
import { barName, logOf, numberText, shownResults } from './results.ts'

export function ResultTable({ seen }: { readonly seen: OverviewReply }) {
  const { id: account } = useAccount()
  const results = shownResults(seen.totals)
  return (
    <Table.ScrollContainer minWidth={560} mah={420}>
      <Table verticalSpacing={4} stickyHeader>
        <Table.Caption>
          <VisuallyHidden>What became of messages, by the time at which they were accepted</VisuallyHidden>
        </Table.Caption>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">From</Table.Th>
            {results.map(({ key, word }) => (
              <Table.Th key={key} scope="col" ta="right">
                {word}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {seen.bars.toReversed().map((bar) => (
            <Table.Tr key={bar.at}>
              <Table.Th scope="row" fw={400}>
                <TextLink
                  to="/a/$account/developer/logs"
                  params={{ account }}
                  search={logOf(bar.at, seen) as never}
                  size="sm"
                >
                  {barName(bar.at, seen)}
                </TextLink>
              </Table.Th>
              {results.map(({ key }) => (
                <Table.Td key={key} ta="right">
                  {numberText(bar[key])}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
