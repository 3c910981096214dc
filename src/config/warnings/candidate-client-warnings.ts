import { allOperations, groups } from '../../operations.ts'
import type { WarningRule } from '../rules/rule.ts'
import { suggestNearest } from '../suggest.ts'

/**
 * Warns of clients that a candidate names and the file does not know. It is no error: an operator who takes a client
 * out in a hurry is not kept from it by a list elsewhere.
 */
const unknownClients: WarningRule = ({ config: { clients, upstreams } }) =>
  groups.map((group) => {
    const named = upstreams[group].candidate?.clients ?? []
    if (named.length === 0) return null
    const known = new Set(clients.map(({ id }) => id))
    return named.map((name, index) => {
      if (known.has(name)) return null
      const near = suggestNearest(name, [...known])
      return {
        path: ['upstreams', group, 'candidate', 'clients', index],
        message: 'this does nothing: no client has this name',
        expected: 'the name of one under clients',
        found: name,
        hint: near === undefined ? 'remove it, or add the client' : `write ${near}, or remove it`,
      }
    })
  })

/** Warns of clients by name where no operation of the group asks clients who they are. */
const unaskedClients: WarningRule = ({ config: { operations, upstreams } }) =>
  groups.map(
    (group) =>
      (upstreams[group].candidate?.clients ?? []).length > 0 &&
      allOperations.every((operation) => operation.group !== group || operations[operation.id].auth === null) && {
        path: ['upstreams', group, 'candidate', 'clients'],
        message: 'this does nothing: no operation of the group asks clients who they are',
        expected: 'auth for an operation of the group, or no clients here',
        found: 'no auth',
        hint: 'add auth: { methods: [apiKey] } at the top level, or write a share, which goes by address then',
      },
  )

/** The warnings of the clients that a candidate names. */
export const candidateClientWarnings: readonly WarningRule[] = [unknownClients, unaskedClients]
