import { defaultIpv6Prefix } from '../exchange/request-owner.ts'
import type { Config, ListenConfig, OperationConfig, UpstreamConfig } from './config.ts'

/** Facts that core and features ask each feature about a configuration, in every process and thread. */
export interface ConfigFacts {
  /** Whether the operation's clients must authenticate. */
  authenticates?(operation: OperationConfig): boolean
  /** Whether upstreams get the clients' credentials. */
  forwardsCredentials?(config: Config): boolean
  clientNames?(config: Config): readonly string[]
  ipv6Prefix?(config: Config): number | undefined
  credentialFields?(config: Config): readonly string[]
  /** Request fields that tell unauthenticated clients apart. They carry credentials too. */
  partitionFields?(config: Config): readonly string[]
  /** Request fields that carry no credentials even if their names suggest it. */
  keyFields?(operation: OperationConfig): readonly string[]
  isStored?(operation: OperationConfig): boolean
  /** Settings that change the responses to an operation, besides its upstream. */
  shapesResponses?(operation: OperationConfig, config: Config): unknown
  /** Whether a repeatable request is sent again after this failure or status. */
  repeats?(upstream: UpstreamConfig, cause: string | number | null): boolean
  /** Whether some clients of the group may be on its candidate. */
  dividesClients?(upstream: UpstreamConfig): boolean
  /** Whether a proxy in front may drop fields that clients sent. */
  mayLackFields?(listen: ListenConfig): boolean
  /** The clients' scheme where a proxy in front terminates TLS; empty: unknown; null: no proxy is in front. */
  clientScheme?(listen: ListenConfig): 'https:' | '' | null
  serviceName?(config: Config): string | undefined
}

export const configFacts = new Map<string, ConfigFacts>()

export const askFacts = <T>(ask: (facts: ConfigFacts) => T | readonly T[] | null | undefined): readonly T[] =>
  [...configFacts.values()].flatMap((facts) => ask(facts) ?? [])

export const authenticates = (operation: OperationConfig): boolean =>
  askFacts((facts) => facts.authenticates?.(operation)).includes(true)

export const listClientNames = (config: Config): readonly string[] => askFacts((facts) => facts.clientNames?.(config))

export const findServiceName = (config: Config): string | undefined =>
  askFacts((facts) => facts.serviceName?.(config))[0]

export const clientIpv6Prefix = (config: Config): number =>
  askFacts((facts) => facts.ipv6Prefix?.(config))[0] ?? defaultIpv6Prefix

/** Spelled as in the file, in upper or lower case. */
export const partitionFields = (config: Config): readonly string[] =>
  askFacts((facts) => facts.partitionFields?.(config))

/** Spelled as in the file, in upper or lower case. */
export const credentialFields = (config: Config): readonly string[] =>
  askFacts((facts) => [...(facts.partitionFields?.(config) ?? []), ...(facts.credentialFields?.(config) ?? [])])
