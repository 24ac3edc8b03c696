// Uses @kubernetes/client-node as an application would; prints what it sees, one line each.
import * as k8s from '@kubernetes/client-node';

const config = new k8s.KubeConfig();
config.loadFromFile(process.argv[2]);
const core = config.makeApiClient(k8s.CoreV1Api);
const custom = config.makeApiClient(k8s.CustomObjectsApi);
const namespace = 'default';
const say = (...words) => console.log(words.join(' '));

// Waits for a condition that events make true; the limit only ends a hopeless wait.
async function until(what, condition) {
  for (let i = 0; i < 400; ++i) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`never: ${what}`);
}

const namespaces = await core.listNamespace();
for (const item of namespaces.items) say('listed', item.metadata.name);

const watched = [];
const watch = new k8s.Watch(config);
const path = `/api/v1/namespaces/${namespace}/configmaps`;
const request = await watch.watch(path, {}, (type, object) => {
  watched.push(object.metadata.name);
  say('watched', type, object.metadata.name);
}, () => {});

await core.createNamespacedConfigMap({namespace, body: {metadata: {name: 'first'}, data: {a: '1'}}});
await until('watch', () => watched.includes('first'));
request.abort();

const seen = new Set();
const informer = k8s.makeInformer(config, path, () => core.listNamespacedConfigMap({namespace}));
for (const verb of ['add', 'update', 'delete']) {
  informer.on(verb, (object) => {
    say('informer', verb, object.metadata.name);
    seen.add(`${verb} ${object.metadata.name}`);
  });
}
informer.on('error', (error) => say('informer error', error));
await informer.start();
await until('initial list', () => seen.has('add first'));
await core.createNamespacedConfigMap({namespace, body: {metadata: {name: 'second'}}});
await until('add', () => seen.has('add second'));
const second = await core.readNamespacedConfigMap({name: 'second', namespace});
second.data = {b: '2'};
await core.replaceNamespacedConfigMap({name: 'second', namespace, body: second});
await until('update', () => seen.has('update second'));
await core.deleteNamespacedConfigMap({name: 'first', namespace});
await until('delete', () => seen.has('delete first'));
await informer.stop();

const subnet = {
  apiVersion: 'fairlead.dev/v1alpha1', kind: 'Subnet',
  metadata: {name: 'blue', namespace}, spec: {ipv4: '10.0.0.0/24', vni: 7},
};
const where = {group: 'fairlead.dev', version: 'v1alpha1', namespace, plural: 'subnets'};
await custom.createNamespacedCustomObject({...where, body: subnet});
const read = await custom.getNamespacedCustomObject({...where, name: 'blue'});
say('custom', read.metadata.name, read.spec.vni);
process.exit(0);
