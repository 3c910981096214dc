import type { Config } from '../config/config.ts'
import type { FeatureMessage } from './channel.ts'
import type { OverridesView, RecordAdminEvent } from './overrides.ts'
import {
  type PreparedPart,
  type PrimaryFeature,
  type PrimaryGateway,
  type PrimaryPart,
  type PrimaryParts,
  primaryPartLoaders,
  type ServerOptions,
} from './primary-part.ts'
import type { ProxyServer } from './proxy-server.ts'
import { openSandboxes } from './sandbox.ts'

export const primaryFeatures: ReadonlyMap<string, PrimaryFeature> = new Map([
  ['sandbox', { open: openSandboxes }],
  ...(await primaryPartLoaders.byFeature()),
])

export class OpenPrimaryParts {
  readonly byFeature: PrimaryParts
  readonly #all: readonly PrimaryPart[]

  constructor(
    gateway: Omit<PrimaryGateway, 'channel' | 'recordAdminEvent'>,
    notify: (message: FeatureMessage) => void,
  ) {
    const opened = [...primaryFeatures].map(([feature, { open = () => ({}) }]) => {
      const channel = { notify: (payload: unknown) => notify({ feature, payload }) }
      return [feature, open({ ...gateway, recordAdminEvent: this.recordAdminEvent, channel })] as const
    })
    this.byFeature = Object.fromEntries(opened) as PrimaryParts
    this.#all = opened.map(([, part]) => part)
  }

  get overrides(): Partial<OverridesView> {
    return Object.assign({}, ...this.#all.map(({ overrides }) => overrides))
  }

  async prepare(config: Config, isRollback = false): Promise<Required<PreparedPart>> {
    const prepared: PreparedPart[] = []
    const discard = async (): Promise<void> => {
      for (const each of prepared) await each.discard?.()
    }
    try {
      for (const part of this.#all) prepared.push((await part.prepare?.(config, isRollback)) ?? {})
    } catch (error) {
      await discard()
      throw error
    }
    return {
      overrides: Object.assign(this.overrides, ...prepared.map(({ overrides }) => overrides)),
      sandboxOrigin: prepared.reduce<string | null>((found, each) => each.sandboxOrigin ?? found, null),
      commit() {
        for (const each of prepared) each.commit?.()
      },
      discard,
    }
  }

  readonly recordAdminEvent: RecordAdminEvent = (event, fields) => {
    for (const part of this.#all) part.recordAdminEvent?.(event, fields)
  }

  async openServer(options: Omit<ServerOptions, 'primary'>): Promise<ProxyServer | null> {
    for (const part of this.#all) {
      const server = (await part.openServer?.({ ...options, primary: this.byFeature })) ?? null
      if (server !== null) return server
    }
    return null
  }

  onReload(): void {
    for (const part of this.#all) part.onReload?.()
  }

  stop(): void {
    for (const part of this.#all) part.stop?.()
  }

  async close(): Promise<void> {
    for (const part of this.#all.toReversed()) await part.close?.()
  }
}
