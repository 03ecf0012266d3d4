// A small game on Ranvier's engine, for tests: its transport, its accounts and players, and a town of two rooms.
// npm has the engine and none of the bundles, so what they print is printed here, in the words that players see.
// usage: node town.js FOLDER    The folder is for accounts and players. Prints the port when the game takes players.
'use strict';

const fs = require('fs');
const path = require('path');
const Ranvier = require('ranvier');
const Telnet = require('ranvier-telnet');
const login = require('./login');

const folder = fs.realpathSync(process.argv[2]);
const PEOPLE = { Keeper: ['Bertil', 'Sage'], Visitor: ['Anna'] };
const PASSWORD = 'Passw0rd X';

// What the engine's entities are loaded by.
const LOADERS = {
  accounts: { source: 'JsonDirectory', config: { path: 'account' } },
  players: { source: 'JsonDirectory', config: { path: 'player' } },
  areas: { source: 'YamlArea', config: { path: 'bundles/[BUNDLE]/areas' } },
  items: { source: 'Yaml', config: { path: 'bundles/[BUNDLE]/areas/[AREA]/items.yml' } },
  npcs: { source: 'Yaml', config: { path: 'bundles/[BUNDLE]/areas/[AREA]/npcs.yml' } },
  rooms: { source: 'Yaml', config: { path: 'bundles/[BUNDLE]/areas/[AREA]/rooms.yml' } },
  quests: { source: 'Yaml', config: { path: 'bundles/[BUNDLE]/areas/[AREA]/quests.yml' } },
  help: { source: 'YamlDirectory', config: { path: 'bundles/[BUNDLE]/help' } },
};

function newState() {
  Ranvier.Config.load({ bundles: ['town'], startingRoom: 'town:white' });
  const kinds = [
    'AccountManager', 'AreaFactory', 'AreaManager', 'AttributeFactory', 'ChannelManager', 'CommandManager',
    'EffectFactory', 'HelpManager', 'ItemFactory', 'ItemManager', 'MobFactory', 'MobManager', 'PartyManager',
    'PlayerManager', 'QuestFactory', 'QuestGoalManager', 'QuestRewardManager', 'RoomFactory', 'RoomManager',
    'SkillManager', 'EntityLoaderRegistry', 'DataSourceRegistry',
  ];
  const state = { Config: Ranvier.Config };
  for (const kind of kinds) state[kind] = new Ranvier[kind]();
  for (const kind of ['Area', 'Item', 'Mob', 'Room']) state[`${kind}BehaviorManager`] = new Ranvier.BehaviorManager();
  state.InputEventManager = new Ranvier.EventManager();
  state.ServerEventManager = new Ranvier.EventManager();
  return state;
}

function loadFrom(state) {
  const sources = {};
  for (const kind of ['Yaml', 'YamlArea', 'YamlDirectory']) {
    sources[kind] = { require: `ranvier-datasource-file.${kind}DataSource` };
  }
  state.DataSourceRegistry.load(require, __dirname, sources);
  const kept = { JsonDirectory: { require: 'ranvier-datasource-file.JsonDirectoryDataSource' } };
  state.DataSourceRegistry.load(require, folder, kept);
  state.EntityLoaderRegistry.load(state.DataSourceRegistry, LOADERS);
  state.AccountManager.setLoader(state.EntityLoaderRegistry.get('accounts'));
  state.PlayerManager.setLoader(state.EntityLoaderRegistry.get('players'));
}

function fill() {
  for (const kind of ['account', 'player']) fs.mkdirSync(path.join(folder, kind), { recursive: true });
  Ranvier.Data.setDataPath(folder);
  const bcrypt = require('bcryptjs');
  for (const [username, names] of Object.entries(PEOPLE)) {
    const characters = names.map(name => ({ username: name, deleted: false }));
    // Few rounds: nobody guesses here.
    const account = { username, characters, password: bcrypt.hashSync(PASSWORD, 4), metadata: {} };
    fs.writeFileSync(path.join(folder, 'account', `${username}.json`), JSON.stringify(account));
    for (const name of names) {
      const player = { name, account: username, room: 'town:white', level: 1 };
      fs.writeFileSync(path.join(folder, 'player', `${name}.json`), JSON.stringify(player));
    }
  }
}

// Between the engine's stream and the socket.
class Stream extends Ranvier.TransportStream {
  attach(socket) {
    super.attach(socket);
    socket.on('data', data => this.emit('data', data));
    socket.on('error', () => socket.destroy());
    socket.on('DO', option => socket.telnetCommand(Telnet.Sequences.WONT, option));
  }

  get writable() { return this.socket.writable; }

  write(text) { if (this.writable) this.socket.write(text, 'utf8'); }

  end() { this.socket.end(); }

  executeToggleEcho() { this.socket.toggleEcho(); }
}

async function main() {
  Ranvier.Logger.setLevel('error');
  const state = newState();
  fill();
  loadFrom(state);
  await new Ranvier.BundleManager(`${__dirname}/bundles/`, state).loadBundles();
  const { netServer } = new Telnet.TelnetServer(raw => {
    const socket = new Telnet.TelnetSocket();
    socket.attach(raw);
    socket.telnetCommand(Telnet.Sequences.WILL, Telnet.Options.OPT_EOR);
    const stream = new Stream();
    stream.attach(socket);
    login.greet(state, stream);
  });
  netServer.listen(0, '127.0.0.1', () => console.log(`port ${netServer.address().port}`));
}

// It ends with the test that started it, however that ends.
process.stdin.on('end', () => process.exit(0)).resume();
main().catch(error => { console.error(error); process.exit(1); });
