/** Runs before each file of tests: installs the features, as src/main.ts does. */
import { installFeatures } from '../../src/core/feature.ts'
import { features } from '../../src/features/index.ts'

installFeatures(features)
