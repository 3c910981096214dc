/** Installs the features of this process or thread. Imported before all that uses them. */
import { installFeatures } from '../core/feature.ts'
import { features } from './index.ts'

installFeatures(features)
