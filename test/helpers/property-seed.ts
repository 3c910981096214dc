/** Runs before each file of tests: every property draws its inputs from one seed. */
import fc from 'fast-check'
import { inject } from 'vitest'

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: inject('propertySeed') })
