/** Runs before each file of tests: in a process that others used before, src is loaded for this file alone. */
import { vi } from 'vitest'

vi.useRealTimers()
vi.resetModules()
