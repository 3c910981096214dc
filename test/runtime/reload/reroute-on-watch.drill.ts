/** That nobody notices a reroute where the watch of the file alone tells the gateway of the edit. */
import { fileReplacedByRename, fileSwappedBySymlink, fileWrittenInPlace } from '../../helpers/editable-file.ts'
import { nobodyNotices } from './reroute-drill.ts'

nobodyNotices([
  ['made by writing the file in place', fileWrittenInPlace, 'watch', '{ poll: none }'],
  ['made by renaming another file over it', fileReplacedByRename, 'watch', '{ poll: none }'],
  ['made by swapping a symbolic link, as Kubernetes does', fileSwappedBySymlink, 'watch', '{ poll: none }'],
])
