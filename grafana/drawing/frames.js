// From the answers of Prometheus to what the components draw. Nothing here formats, colours or lays out a value.
import {
  applyFieldOverrides, booleanOverrideProcessor, cacheFieldDisplayNames, createDataFrame, createFieldConfigRegistry,
  dataLinksOverrideProcessor, displayNameOverrideProcessor, FieldType, identityOverrideProcessor,
  numberOverrideProcessor, renderLegendFormat, standardFieldConfigEditorRegistry, standardTransformers,
  standardTransformersRegistry, stringOverrideProcessor, thresholdsOverrideProcessor, transformDataFrame,
  unitOverrideProcessor, valueMappingsOverrideProcessor,
} from '@grafana/data';
import { lastValueFrom } from 'rxjs';

const always = () => true;
const ofNumbers = (field) => field.type === FieldType.number;
const item = (id, process, shouldApply = always, settings) => ({
  id, path: id, name: id, process, shouldApply, settings, editor: () => null, override: () => null,
});

// What Grafana registers when it starts.
export function init() {
  standardFieldConfigEditorRegistry.setInit(() => [
    item('unit', unitOverrideProcessor),
    item('min', numberOverrideProcessor, ofNumbers),
    item('max', numberOverrideProcessor, ofNumbers),
    item('fieldMinMax', booleanOverrideProcessor, ofNumbers),
    item('decimals', numberOverrideProcessor, ofNumbers, { integer: true }),
    item('displayName', displayNameOverrideProcessor),
    item('color', identityOverrideProcessor),
    item('noValue', stringOverrideProcessor),
    item('links', dataLinksOverrideProcessor),
    item('mappings', valueMappingsOverrideProcessor, (field) => field.type !== FieldType.time),
    item('thresholds', thresholdsOverrideProcessor),
    item('filterable', booleanOverrideProcessor),
  ]);
  // Aliases have the same id, which the registry refuses.
  const byId = new Map(Object.values(standardTransformers).map((each) => [each.id, each]));
  standardTransformersRegistry.setInit(() => [...byId.values()].map((each) => ({
    id: each.id, name: each.name, transformation: () => Promise.resolve(each), editor: () => null,
  })));
}

// Options and defaults that the plugin of each panel type registers; the plugins are not published.
const CUSTOM = {
  timeseries: {
    drawStyle: 'line', lineInterpolation: 'linear', barAlignment: 0, lineWidth: 1, fillOpacity: 0,
    gradientMode: 'none', spanNulls: false, insertNulls: false, showPoints: 'auto', pointSize: 5,
    stacking: { mode: 'none', group: 'A' }, axisPlacement: 'auto', axisLabel: '', axisColorMode: 'text',
    axisBorderShow: false, scaleDistribution: { type: 'linear' }, axisCenteredZero: false,
    hideFrom: { tooltip: false, viz: false, legend: false }, thresholdsStyle: { mode: 'off' },
    lineStyle: { fill: 'solid' },
  },
  table: {
    align: 'auto', cellOptions: { type: 'auto' }, inspect: false, filterable: false, width: null, minWidth: null,
    hidden: false,
  },
};
const registries = {};

function registry(type) {
  const applies = (field) => type === 'table' || field.type !== FieldType.time;
  registries[type] ??= createFieldConfigRegistry({
    useCustomConfig: (builder) => Object.keys(CUSTOM[type] ?? {}).forEach(
      (id) => builder.addCustomEditor({ ...item(id, identityOverrideProcessor, applies) })),
  }, type);
  return registries[type];
}

const numberOf = (text) => ({ '+Inf': Infinity, '-Inf': -Infinity })[text] ?? Number(text);

function toTable(target, answer) {
  const labels = [...new Set(answer.flatMap((row) => Object.keys(row.metric)))].sort();
  return [createDataFrame({
    refId: target.refId,
    fields: [
      { name: 'Time', type: FieldType.time, values: answer.map((row) => row.value[0] * 1000) },
      ...labels.map((label) => ({
        name: label, type: FieldType.string, config: { filterable: true },
        values: answer.map((row) => row.metric[label] ?? ''),
      })),
      {
        name: `Value #${target.refId}`, type: FieldType.number,
        values: answer.map((row) => numberOf(row.value[1])),
      },
    ],
  })];
}

function toSeries(target, row, step) {
  const points = row.values ?? [row.value];
  const named = target.legendFormat && target.legendFormat !== '__auto';
  return createDataFrame({
    refId: target.refId,
    fields: [
      // The interval makes a missing step a gap.
      {
        name: 'Time', type: FieldType.time, config: row.values ? { interval: step * 1000 } : {},
        values: points.map((point) => point[0] * 1000),
      },
      {
        name: 'Value', type: FieldType.number, labels: row.metric, values: points.map((point) => numberOf(point[1])),
        config: named ? { displayNameFromDS: renderLegendFormat(target.legendFormat, row.metric) } : {},
      },
    ],
  });
}

function toFrames(target, answer, step) {
  if (!answer?.length) return [];
  return target.format === 'table' ? toTable(target, answer) : answer.map((row) => toSeries(target, row, step));
}

export async function panelFrames(panel, data, theme, timeZone, replaceVariables) {
  const answers = data.panels[panel.id] ?? {};
  let frames = panel.targets.flatMap((target) => toFrames(target, answers[target.refId], data.step));
  // Grafana names the value after its query only if the table has several.
  if (frames.length === 1 && panel.targets.length === 1) {
    for (const field of frames[0].fields) if (field.name === `Value #${frames[0].refId}`) field.name = 'Value';
  }
  if (panel.transformations?.length && frames.length) {
    const context = { interpolate: replaceVariables };
    frames = await lastValueFrom(transformDataFrame(panel.transformations, frames, context));
  }
  const given = panel.fieldConfig.defaults;
  const color = { mode: panel.type === 'timeseries' ? 'palette-classic' : 'thresholds' };
  const defaults = { color, ...given, custom: { ...CUSTOM[panel.type], ...given.custom } };
  const fieldConfig = { ...panel.fieldConfig, defaults };
  frames = applyFieldOverrides({
    data: frames, fieldConfig, theme, timeZone, replaceVariables, fieldConfigRegistry: registry(panel.type),
  });
  cacheFieldDisplayNames(frames); // the table reads only these names
  return { fieldConfig, frames };
}
